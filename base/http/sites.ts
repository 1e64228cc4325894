import { networkInterfaces } from 'node:os'
import { hostnameOf, isHostLabel, isLoopback } from '../config/host-names.ts'
import type { SolutionOrigin } from '../config/properties.ts'
import type { ClientSide } from './client.ts'

/** The site that a host name refers to: the platform with all solutions, or one solution. */
export type Site =
  | { readonly kind: 'platform'; readonly origin: string }
  | { readonly kind: 'solution'; readonly solution: string; readonly origin: string }

export interface Sites {
  /** The requested site; null for an unknown host name (421). */
  find(client: ClientSide): Site | null
  /** A solution's URL as its users see it, without a path. */
  originOf(solution: string, client: ClientSide): string
  /**
   * Same as `originOf`, but for requests to the admin port. If neither `SOLUTION_ORIGIN` nor `PUBLIC_URL` is set,
   * combines the request's host name with the port of the solutions' pages.
   */
  originForAdmin(solution: string, client: ClientSide): string
  /**
   * A solution's URL for links in emails, without a path; null if neither `SOLUTION_ORIGIN` nor `PUBLIC_URL` is set. It
   * doesn't depend on a request. Otherwise, the request's sender could choose where a link points.
   */
  linkOriginOf(solution: string): string | null
  /** Whether all solutions share an origin. If so, they must trust each other. */
  readonly shared: boolean
}

type SiteSettings = {
  readonly solutionOrigin: SolutionOrigin | null
  readonly publicUrl: URL | null
  readonly allowedHosts: readonly string[]
}

/** @param port the port that the pages listen on, used for a loopback `SOLUTION_ORIGIN` without a port */
export function createSites(settings: SiteSettings, port: () => number): Sites {
  const { solutionOrigin, publicUrl, allowedHosts } = settings

  function linkOriginOf(solution: string): string | null {
    if (solutionOrigin !== null) {
      const { protocol, suffix } = solutionOrigin
      const usesDefaultPort = solutionOrigin.port === '' && !isLoopback(suffix.slice(1))
      const given = solutionOrigin.port === '' ? String(port()) : solutionOrigin.port
      return `${protocol}//${solution}${suffix}${usesDefaultPort ? '' : `:${given}`}`
    }
    return publicUrl?.origin ?? null
  }

  function originOf(solution: string, client: ClientSide): string {
    return linkOriginOf(solution) ?? `${client.protocol}://${client.host}`
  }

  return {
    shared: solutionOrigin === null,
    originOf,
    linkOriginOf,
    originForAdmin: (solution, client) =>
      originOf(solution, { ...client, host: `${client.host.replace(/:\d+$/, '')}:${port()}` }),
    find(client) {
      const hostname = hostnameOf(client.host)
      if (hostname === null) return null
      if (solutionOrigin !== null && hostname.endsWith(solutionOrigin.suffix)) {
        const solution = hostname.slice(0, -solutionOrigin.suffix.length)
        if (isHostLabel(solution)) {
          return { kind: 'solution', solution, origin: originOf(solution, client) }
        }
      }
      const known =
        isLoopback(hostname) || hostname === publicUrl?.hostname || allowedHosts.includes(hostname) || isOwn(hostname)
      if (!known) return null
      return { kind: 'platform', origin: publicUrl?.origin ?? `${client.protocol}://${client.host}` }
    },
  }
}

function isOwn(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address))
}
