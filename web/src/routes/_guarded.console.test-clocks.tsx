import { createFileRoute } from '@tanstack/react-router';
import { TestClocks } from '@/features/console/test-clocks';

interface ClockSearch {
  /** The clock that is shown. */
  id?: string;
}

export const Route = createFileRoute('/_guarded/console/test-clocks')({
  validateSearch: (raw: Record<string, unknown>): ClockSearch => ({
    id: typeof raw.id === 'string' && raw.id ? raw.id.slice(0, 100) : undefined,
  }),
  component: Clocks,
});

function Clocks() {
  return <TestClocks {...Route.useSearch()} />;
}
