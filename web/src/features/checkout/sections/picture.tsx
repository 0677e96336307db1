import { useState } from 'react';

/** The product image, or the first letter of its name. */
export function Picture({ src, name }: { src: string | null | undefined; name: string }) {
  const [failed, setFailed] = useState(false);
  if (!src || failed) {
    return (
      <span className="checkout-picture" aria-hidden="true">
        {name.slice(0, 1)}
      </span>
    );
  }
  return <img className="checkout-picture" src={src} alt="" width={44} height={44} onError={() => setFailed(true)} />;
}
