import { Alert, Flex } from 'antd';
import type { ReactNode } from 'react';

interface BannerProps {
  type?: 'error' | 'info';
  title: string;
  /** The explanation, and below it what can be done. */
  children: ReactNode;
}

export function Banner({ type = 'error', title, children }: BannerProps): ReactNode {
  const description = (
    <Flex vertical gap={12} align="flex-start">
      {children}
    </Flex>
  );
  return <Alert type={type} showIcon title={title} description={description} />;
}
