import { resolve } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { Value } from '../config/property-groups.ts'
import type { CertificateSource } from '../config/service-settings.ts'
import { readCertificate } from './certificate.ts'

/** Null: no TLS. @param passphraseFile the file of `CERTIFICATE_PASS_FILE`, where that is set */
export function certificateOf(value: Value, passphraseFile: string | null): CertificateSource | null {
  const [name, folder, passphrase] = [value('CERTIFICATE_NAME'), value('CERTIFICATE_FOLDER'), value('CERTIFICATE_PASS')]
  if (typeof name !== 'string' || typeof folder !== 'string' || typeof passphrase !== 'string' || name === '')
    return null
  return { file: resolve(folder, name), passphrase, passphraseFile }
}

/** What is wrong with TLS: a file that cannot be served, and settings that contradict it. */
export function tlsFaults(value: Value, certificate: CertificateSource | null): string[] {
  if (certificate === null) {
    if (value('CERTIFICATE_NAME') !== '') return []
    // Somebody who set these expects TLS; to go on without it would be unsafe.
    return [
      value('CERTIFICATE_PASS') ? 'CERTIFICATE_PASS is set, but CERTIFICATE_NAME is not: set both, or none' : '',
      typeof value('HTTP_REDIRECT_PORT') === 'number'
        ? 'HTTP_REDIRECT_PORT needs CERTIFICATE_NAME: without TLS here there is nothing to lead to'
        : '',
    ].filter((fault) => fault !== '')
  }
  const faults: string[] = []
  const addresses = { PUBLIC_URL: value('PUBLIC_URL'), SOLUTION_ORIGIN: value('SOLUTION_ORIGIN') }
  for (const [name, address] of Object.entries(addresses) as [string, { protocol: string } | null | undefined][]) {
    if (address?.protocol === 'http:') faults.push(`${name} must begin with https:// where CERTIFICATE_NAME is set`)
  }
  const redirectPort = value('HTTP_REDIRECT_PORT') as number | null | undefined
  if (redirectPort && [value('PORT'), value('ADMIN_PORT')].includes(redirectPort)) {
    faults.push(`HTTP_REDIRECT_PORT must be another port than PORT and ADMIN_PORT, but is "${redirectPort}"`)
  }
  try {
    readCertificate(certificate)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    faults.push(error.message)
  }
  return faults
}
