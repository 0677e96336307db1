import { useRef } from 'react';
import { idempotencyKey } from '@/api/client';

/** The same key for the same request: whoever sends it again after a lost answer does not do it twice. */
export function useIdempotencyKey(): (request: string) => string {
  const last = useRef({ request: '', key: '' });
  return (request) => {
    if (last.current.request !== request) last.current = { request, key: idempotencyKey() };
    return last.current.key;
  };
}
