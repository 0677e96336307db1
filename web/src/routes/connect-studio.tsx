import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { toolSearch } from '@/features/publish/tool-link';
import { ToolPage } from '@/features/publish/tool-page';

export const Route = createFileRoute('/connect-studio')({
  validateSearch: toolSearch,
  component: ConnectStudio,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function ConnectStudio() {
  return (
    <ThemeProvider>
      <ToolPage action="connect-studio" search={Route.useSearch()} />
    </ThemeProvider>
  );
}
