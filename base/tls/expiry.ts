import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { counted } from '../program/counted.ts'

/** Information for the operator about the certificate in use. */
export type CertificateState = {
  /** The names that the certificate is valid for, as written in it: `DNS:apps.example.org`. */
  readonly names: string
  /** Epoch ms. */
  readonly validFrom: number
  readonly validTo: number
  readonly problem: 'expired' | 'not-yet-valid' | 'expires-soon' | null
}

/**
 * A certificate is reported as expiring if less than this time is left, in ms. Certificates for 90 days are usually
 * renewed 30 days before they expire.
 */
export const SOON = 30 * 86_400_000

/** @param now epoch ms */
export function stateOfCertificate(x509: X509Certificate, now: number): CertificateState {
  const validFrom = x509.validFromDate.getTime()
  const validTo = x509.validToDate.getTime()
  const problem =
    now >= validTo ? 'expired' : now < validFrom ? 'not-yet-valid' : validTo - now <= SOON ? 'expires-soon' : null
  return { names: x509.subjectAltName ?? x509.subject, validFrom, validTo, problem }
}

/** Describes the certificate's problem in a sentence; null if there is none. @param now epoch ms */
export function sayProblem({ problem, validFrom, validTo }: CertificateState, now: number): string | null {
  if (problem === null) return null
  if (problem === 'expired') {
    return `The host’s certificate expired at ${iso(validTo)}, so browsers block the pages. Replace the certificate file; no restart is needed.`
  }
  if (problem === 'not-yet-valid') {
    return `The host’s certificate is not valid until ${iso(validFrom)}, so browsers block the pages. Check the host’s clock, or replace the certificate file.`
  }
  const days = Math.floor((validTo - now) / 86_400_000)
  return `The host’s certificate expires at ${iso(validTo)}, in ${counted(days, 'day')}. Replace the certificate file; no restart is needed.`
}

/** Returns the names that the certificate doesn't cover. */
export function namesNotCovered(x509: X509Certificate, names: readonly string[]): readonly string[] {
  return names.filter((name) => {
    const host = name.replace(/^\[|\]$/g, '')
    return (isIP(host) === 0 ? x509.checkHost(host) : x509.checkIP(host)) === undefined
  })
}

/**
 * Returns the host names in `PUBLIC_URL` and `SOLUTION_ORIGIN`. For the latter, "name" is used as an example of a
 * solution's name.
 */
export function publicNames(settings: {
  readonly publicUrl: URL | null
  readonly solutionOrigin: { readonly suffix: string } | null
}): readonly string[] {
  const { publicUrl, solutionOrigin } = settings
  return [
    ...(publicUrl === null ? [] : [publicUrl.hostname]),
    ...(solutionOrigin === null ? [] : [`name${solutionOrigin.suffix}`]),
  ]
}

function iso(time: number): string {
  return new Date(time).toISOString().replace('.000Z', 'Z')
}
