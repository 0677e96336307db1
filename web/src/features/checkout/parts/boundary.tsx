import { Component, type ReactNode } from 'react';
import { loadErrorMessages, translate } from '@/i18n/translate';
import { Oops } from './notice';

interface BoundaryProps {
  onRetry: () => void;
  children: ReactNode;
}

/** An order that cannot be shown (its rules contradict each other) is told like any other error, not as an empty page. */
export class Boundary extends Component<BoundaryProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidCatch() {
    // No call was refused, so the words are not there yet.
    void loadErrorMessages().then(() => this.forceUpdate());
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const retry = () => {
      this.setState({ error: null });
      this.props.onRetry();
    };
    return <Oops text={translate(error.message)} onRetry={retry} />;
  }
}
