/**
 * Tests sign in from one address and guess far more often than people do; tests of the throttle set their own limits.
 */
export const UNTHROTTLED = {
  THROTTLE_ACCOUNT_NETWORK: '1000000',
  THROTTLE_ACCOUNT: '1000000',
  THROTTLE_NETWORK: '1000000',
} as const
