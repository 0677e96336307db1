import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TestMail } from './test-mail';

const { get, post, embedded } = vi.hoisted(() => ({ get: vi.fn(), post: vi.fn(), embedded: { mail_server: true } }));
vi.mock('@/api/client', () => ({ api: { get, post }, embeddedStore: embedded }));

const email = 'mei@example.com';
const show = () => render(<TestMail email={email} sent="Your receipt was sent." />);

beforeEach(() => {
  get.mockReset();
  post.mockReset();
});
afterEach(() => {
  embedded.mail_server = true;
});

describe('the emails of a test order', () => {
  test('go to a confirmed address', async () => {
    get.mockResolvedValue({ email, confirmed: true, requested: false });
    show();
    await screen.findByText('Your receipt was sent.');
    expect(screen.queryByRole('button')).toBeNull();
  });

  test('stay in the mail folder until the address is confirmed by a link', async () => {
    get.mockResolvedValue({ email, confirmed: false, requested: false });
    post.mockResolvedValue({ email, confirmed: false, requested: true });
    show();
    fireEvent.click(await screen.findByRole('button', { name: 'Send a confirmation link' }));
    await screen.findByText(/^We've sent a link to/);
    expect(document.getElementById('announcer')?.textContent).toContain(`We've sent a link to ${email}`);
    expect(screen.queryByText('Your receipt was sent.')).toBeNull();
    expect(screen.queryByRole('button')).toBeNull();
  });

  test('name the reason if no link was sent', async () => {
    get.mockResolvedValue({ email, confirmed: false, requested: false });
    post.mockRejectedValue(new Error('Too many requests'));
    show();
    fireEvent.click(await screen.findByRole('button'));
    await waitFor(() => expect(screen.getByRole('alert').textContent).toContain('Too many requests'));
    expect(screen.getByRole('button')).toBeTruthy();
  });

  test('are not mentioned while nobody knows where they go', async () => {
    get.mockRejectedValue(new Error('offline'));
    const { container } = show();
    await waitFor(() => expect(get).toHaveBeenCalled());
    expect(container.textContent).toBe('');
  });

  test('offer no link for an address that the customer has replaced', async () => {
    get.mockResolvedValue({ email: 'other@example.com', confirmed: true, requested: false });
    show();
    await screen.findByText(/mail folder/);
    expect(screen.queryByText('Your receipt was sent.')).toBeNull();
    expect(screen.queryByRole('button')).toBeNull();
  });

  test('are files in a store without a mail server, which asks nothing', () => {
    embedded.mail_server = false;
    show();
    expect(screen.getByText(/can't send email/)).toBeTruthy();
    expect(get).not.toHaveBeenCalled();
  });
});
