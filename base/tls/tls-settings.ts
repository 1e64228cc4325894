import { resolve } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { Values } from '../config/property-groups.ts'
import type { CertificateSource } from '../config/service-settings.ts'
import { readCertificate } from './certificate.ts'

/** The settings as read from the environment. Invalid properties have no value. */
type ReadValues = Partial<Values>

/** @param passphraseFile the file set with `CERTIFICATE_PASS_FILE`, if any @returns null if TLS is off */
export function certificateOf(values: ReadValues, passphraseFile: string | null): CertificateSource | null {
  const { CERTIFICATE_NAME: name, CERTIFICATE_FOLDER: folder, CERTIFICATE_PASS: passphrase } = values
  if (!name || folder === undefined || passphrase === undefined) return null
  return { file: resolve(folder, name), passphrase, passphraseFile }
}

/** Returns the errors in the TLS settings: an unusable certificate file, or settings that contradict each other. */
export function tlsFaults(values: ReadValues, certificate: CertificateSource | null): string[] {
  if (certificate === null) {
    if (values.CERTIFICATE_NAME !== '') return []
    // Operators who set these properties expect TLS. It would be unsafe to continue without it.
    return [
      values.CERTIFICATE_PASS
        ? 'CERTIFICATE_PASS is set, but CERTIFICATE_NAME is not: set CERTIFICATE_NAME too, or unset CERTIFICATE_PASS'
        : '',
      typeof values.HTTP_REDIRECT_PORT === 'number'
        ? 'HTTP_REDIRECT_PORT requires CERTIFICATE_NAME: without a certificate, the host cannot redirect to https'
        : '',
    ].filter((fault) => fault !== '')
  }
  const faults: string[] = []
  const addresses = { PUBLIC_URL: values.PUBLIC_URL, SOLUTION_ORIGIN: values.SOLUTION_ORIGIN }
  for (const [name, address] of Object.entries(addresses)) {
    if (address?.protocol === 'http:') faults.push(`${name} must begin with https:// if CERTIFICATE_NAME is set`)
  }
  const redirectPort = values.HTTP_REDIRECT_PORT
  if (redirectPort && [values.PORT, values.ADMIN_PORT].includes(redirectPort)) {
    faults.push(`HTTP_REDIRECT_PORT must differ from PORT and ADMIN_PORT, but is "${redirectPort}"`)
  }
  try {
    readCertificate(certificate)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    faults.push(error.message)
  }
  return faults
}
