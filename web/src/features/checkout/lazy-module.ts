import { useEffect, useState } from 'react';

/** A part of the page with a file of its own. Once loaded it is there at once, so nothing flickers where it stands. */
export interface LazyModule<M> {
  load: () => Promise<M>;
  loaded: M | null;
}

export function lazyModule<M>(importing: () => Promise<M>): LazyModule<M> {
  const self: LazyModule<M> = {
    loaded: null,
    load: async () => {
      self.loaded = await importing();
      return self.loaded;
    },
  };
  return self;
}

const RETRY_MS = 2000;

/** The part once it is wanted and there; loading goes on until it succeeds. */
export function useLazyModule<M>(of: LazyModule<M>, wanted: boolean): M | null {
  const [, setLoaded] = useState(of.loaded);
  useEffect(() => {
    if (!wanted || of.loaded) return;
    let timer: ReturnType<typeof setTimeout>;
    let gone = false;
    const attempt = () =>
      of.load().then(
        (loaded) => {
          if (!gone) setLoaded(loaded);
        },
        () => {
          if (!gone) timer = setTimeout(attempt, RETRY_MS);
        },
      );
    attempt();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [of, wanted]);
  return of.loaded;
}
