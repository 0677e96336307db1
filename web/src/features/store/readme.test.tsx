import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import Readme from './readme';

describe('a readme', () => {
  it('runs no scripts', () => {
    const { container } = render(
      <Readme
        source={'<script>x()</script><img src=x onerror=y()>\n\n[run](javascript:alert(1)) ![a](data:text/html,1)'}
      />,
    );
    expect(container.querySelector('script, img')).toBeNull();
    expect(screen.getByText('run').getAttribute('href')).toBe('');
  });

  it('has headings below those of the page', () => {
    render(<Readme source={'# Title\n\n## Part'} />);
    expect(screen.queryByRole('heading', { level: 1 })).toBeNull();
    expect(screen.getAllByRole('heading', { level: 3 })).toHaveLength(2);
  });

  it('marks its links as nofollow', () => {
    render(<Readme source={'[site](https://example.com)'} />);
    expect(screen.getByRole('link').getAttribute('rel')).toContain('nofollow');
  });
});
