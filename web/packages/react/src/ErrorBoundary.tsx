import { Component, type ReactNode } from "react";

interface Props {
  children: ReactNode;
  /** What is shown instead; `again` draws the children anew. */
  fallback: (again: () => void, error: unknown) => ReactNode;
  /** The boundary forgets its error when this changes. */
  of: unknown;
  /** Called before the children are drawn anew. */
  onReset?: () => void;
}

interface State {
  error: unknown;
  failed: boolean;
  of: unknown;
}

/** Keeps an error while drawing inside one block. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null, failed: false, of: this.props.of };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error, failed: true };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.of === state.of ? null : { of: props.of, failed: false, error: null };
  }

  #again = () => {
    this.props.onReset?.();
    this.setState({ failed: false, error: null });
  };

  override render(): ReactNode {
    return this.state.failed
      ? this.props.fallback(this.#again, this.state.error)
      : this.props.children;
  }
}
