import { Buffer } from 'buffer';
import process from 'process';

// The wallet libraries expect these Node globals.
Object.assign(globalThis, { Buffer, process });
