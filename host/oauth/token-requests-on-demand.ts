import type { ProviderRequests } from './provider-requests.ts'
import type { TokenRequests } from './token-requests.ts'

/**
 * Imports the OAuth client with the first request, because it takes time and memory to load and most hosts don't use
 * OAuth.
 */
export function createTokenRequestsOnDemand(requests: ProviderRequests): TokenRequests {
  let loaded: Promise<TokenRequests> | null = null

  async function load(): Promise<TokenRequests> {
    const { createTokenRequests } = await import('./token-requests.ts')
    return createTokenRequests(requests)
  }

  function needed(): Promise<TokenRequests> {
    loaded ??= load()
    return loaded
  }

  return {
    exchangeCode: async (...words) => (await needed()).exchangeCode(...words),
    refresh: async (...words) => (await needed()).refresh(...words),
    revoke: async (...words) => (await needed()).revoke(...words),
    readUserInfo: async (...words) => (await needed()).readUserInfo(...words),
    readProfile: async (...words) => (await needed()).readProfile(...words),
  }
}
