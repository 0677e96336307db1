import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The storage state of a customer's browser that bought something while the sandbox was on. */
export const BUYER = join(tmpdir(), 'souk-buyer.json');
