export interface ConnectOptions {
  /** Connect action: `login`, `payment`, … */
  action: string;
  extraParams?: Record<string, string>;
  title?: string;
  onSuccess: () => void;
  onClose?: () => void;
}

export function openConnect(options: ConnectOptions): void {
  options.onClose?.();
}
