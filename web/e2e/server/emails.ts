import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';

/** The emails whose text contains `text`, oldest first. Without a mail server, the store writes emails to files. */
export async function emailsAbout(text: string): Promise<Email[]> {
  const folder = process.env.SOUK_MAIL_FOLDER;
  if (!folder) throw new Error('SOUK_MAIL_FOLDER names no folder of emails.');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml'));
  const emails = await Promise.all(names.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))));
  const about = emails.filter((email) => `${email.text} ${email.html}`.includes(text));
  about.sort((one, other) => (one.date ?? '').localeCompare(other.date ?? ''));
  return about;
}

export async function emailSubjects(text: string): Promise<string[]> {
  return (await emailsAbout(text)).map(({ subject }) => subject ?? '');
}
