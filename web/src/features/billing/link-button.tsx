import { createLink } from '@tanstack/react-router';
import { Button, type ButtonProps } from 'antd';
import { forwardRef } from 'react';

/** A link of the router that looks like a button. Its style is `color` and `variant`: the router drops `type`. */
export const LinkButton = createLink(
  forwardRef<HTMLAnchorElement, ButtonProps>(function LinkButton(props, ref) {
    return <Button {...props} ref={ref} />;
  }),
);
