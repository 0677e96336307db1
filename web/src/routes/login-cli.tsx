import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { toolSearch } from '@/features/publish/tool-link';
import { ToolPage } from '@/features/publish/tool-page';

export const Route = createFileRoute('/login-cli')({
  validateSearch: toolSearch,
  component: LoginCli,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function LoginCli() {
  return (
    <ThemeProvider>
      <ToolPage action="login-cli" search={Route.useSearch()} />
    </ThemeProvider>
  );
}
