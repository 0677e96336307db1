/** A grey place of the final size. Hidden from screen readers: the page says once that it loads. */
export function Skeleton({
  height,
  width = '100%',
  round,
}: {
  height: number;
  width?: number | string;
  round?: boolean;
}) {
  return (
    <span
      aria-hidden="true"
      className="k-skeleton"
      style={{ height, width, borderRadius: round ? '50%' : undefined }}
    />
  );
}
