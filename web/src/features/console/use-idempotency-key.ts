import { useRef } from 'react';
import { idempotencyKey } from '@/api/client';

/** Returns the same key for the same request, so that a retry after a lost response is not executed twice. */
export function useIdempotencyKey(): (request: string) => string {
  const last = useRef({ request: '', key: '' });
  return (request) => {
    if (last.current.request !== request) last.current = { request, key: idempotencyKey() };
    return last.current.key;
  };
}
