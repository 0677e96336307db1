import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { toolSearch } from '@/features/publish/tool-link';
import { ToolPage } from '@/features/publish/tool-page';

export const Route = createFileRoute('/gen-key-pair')({
  validateSearch: toolSearch,
  component: GenerateKeys,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function GenerateKeys() {
  return (
    <ThemeProvider>
      <ToolPage action="gen-key-pair" search={Route.useSearch()} />
    </ThemeProvider>
  );
}
