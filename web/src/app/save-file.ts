/** How long a file can be read: browsers begin a download some time after the click. */
const READABLE_MS = 60_000;

/** Offers a file that the page has made as a download. Whether it was saved, no browser says. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), READABLE_MS);
}
