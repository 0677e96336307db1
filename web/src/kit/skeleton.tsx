/** A placeholder of the final size. Hidden from screen readers; the page announces loading once. */
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
