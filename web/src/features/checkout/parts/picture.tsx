import { useState } from 'react';

/** The picture of what is sold, or its first letter where there is none. */
export function Picture({ src, name }: { src: string | null | undefined; name: string }) {
  const [broken, setBroken] = useState(false);
  if (!src || broken) {
    return (
      <span className="checkout-picture" aria-hidden="true">
        {name.slice(0, 1)}
      </span>
    );
  }
  return <img className="checkout-picture" src={src} alt="" width={44} height={44} onError={() => setBroken(true)} />;
}
