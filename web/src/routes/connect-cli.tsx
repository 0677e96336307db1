import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { toolSearch } from '@/features/publish/tool-link';
import { ToolPage } from '@/features/publish/tool-page';

export const Route = createFileRoute('/connect-cli')({
  validateSearch: toolSearch,
  component: ConnectCli,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function ConnectCli() {
  return (
    <ThemeProvider>
      <ToolPage action="connect-cli" search={Route.useSearch()} />
    </ThemeProvider>
  );
}
