import { Component, type ReactNode } from 'react';
import { loadErrorMessages, problemOf, translateProblem } from '@/i18n/translate';
import { ErrorState } from './states';

interface ErrorBoundaryProps {
  onRetry: () => void;
  children: ReactNode;
}

/** Shows an error page if the order cannot be rendered, for example if its rules contradict each other. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidCatch() {
    // The API client loads the messages only after failed requests.
    void loadErrorMessages().then(() => this.forceUpdate());
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const retry = () => {
      this.setState({ error: null });
      this.props.onRetry();
    };
    return <ErrorState text={translateProblem(problemOf(error))} onRetry={retry} />;
  }
}
