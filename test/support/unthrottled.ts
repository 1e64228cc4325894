/**
 * Settings with high throttle limits. Tests sign in from one address far more often than people do. Tests of the
 * throttle set their own limits.
 */
export const UNTHROTTLED = {
  THROTTLE_ACCOUNT_NETWORK: '1000000',
  THROTTLE_ACCOUNT: '1000000',
  THROTTLE_NETWORK: '1000000',
} as const
