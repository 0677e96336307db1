import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { DoctorPage } from '@/features/console/doctor-page';

export const Route = createFileRoute('/_auth/console/doctor')({
  component: DoctorPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});
