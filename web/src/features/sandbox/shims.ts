import { Buffer } from 'buffer';
import process from 'process';

// The wallet libraries were written for node: they look for these two by their global names.
Object.assign(globalThis, { Buffer, process });
