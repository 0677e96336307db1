const KEYS = {
  arcblock: 'methods.type.arcblock',
  bitcoin: 'methods.type.bitcoin',
  ethereum: 'methods.type.ethereum',
  base: 'methods.type.base',
  stripe: 'methods.type.stripe',
} as const;

/** The name of a type of payment method. */
export const methodTypeKey = (type: string) => KEYS[type as keyof typeof KEYS];
