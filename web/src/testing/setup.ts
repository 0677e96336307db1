import { cleanup, configure } from '@testing-library/react';
import { afterEach } from 'vitest';

// A busy machine takes longer than the second that is the default.
configure({ asyncUtilTimeout: 4_000 });
afterEach(() => cleanup());
