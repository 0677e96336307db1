import { useEffect, useState } from 'react';

/** A lazily loaded module. Once loaded it renders synchronously, without flicker. */
export interface LazyModule<M> {
  load: () => Promise<M>;
  loaded: M | null;
}

export function lazyModule<M>(importModule: () => Promise<M>): LazyModule<M> {
  const self: LazyModule<M> = {
    loaded: null,
    load: async () => {
      self.loaded = await importModule();
      return self.loaded;
    },
  };
  return self;
}

const RETRY_MS = 2000;

/** Returns the module once it is needed and loaded; a failed load is retried. */
export function useLazyModule<M>(module: LazyModule<M>, isNeeded: boolean): M | null {
  const [, setLoaded] = useState(module.loaded);
  useEffect(() => {
    if (!isNeeded || module.loaded) return;
    let timer: ReturnType<typeof setTimeout>;
    let unmounted = false;
    const attempt = () =>
      module.load().then(
        (loaded) => {
          if (!unmounted) setLoaded(loaded);
        },
        () => {
          if (!unmounted) timer = setTimeout(attempt, RETRY_MS);
        },
      );
    attempt();
    return () => {
      unmounted = true;
      clearTimeout(timer);
    };
  }, [module, isNeeded]);
  return module.loaded;
}
