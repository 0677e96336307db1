declare const __APP_VERSION__: string;

interface Window {
  /** Assigned by `/__blocklet__.js`. */
  blocklet?: { appPid?: string; appId?: string; appName?: string; appUrl?: string; appLogo?: string; prefix?: string };
}
