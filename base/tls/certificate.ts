import { createHash, type X509Certificate } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { Duplex } from 'node:stream'
import { createSecureContext, TLSSocket } from 'node:tls'
import { PlatformError } from '../../runtime/errors.ts'
import { readSecretFile } from '../config/secret-file.ts'
import { unreadSecret } from '../config/unread-secret.ts'
import { whyRefused } from './why-refused.ts'

/**
 * The host's certificate file and its password. The password may be in a second file, which changes together with the
 * first.
 */
export type CertificateSource = {
  /** Absolute path. */
  readonly file: string
  readonly passphrase: string
  /** The file with the password, from `CERTIFICATE_PASS_FILE`. If null, the password is not read from a file. */
  readonly passphraseFile: string | null
}

/** A certificate with its private key, checked for use with TLS. */
export type Certificate = {
  readonly pfx: Buffer
  readonly passphrase: string
  readonly x509: X509Certificate
  /** SHA-256 of the file and the password. Shows whether a file with a new modification time has different content. */
  readonly digest: string
}

/**
 * Maximum bytes of the file. Chosen here: certificate files are 2 to 10 kB, so a much larger file is something else.
 */
const LARGEST = 1024 ** 2

/**
 * Reads and checks a PKCS12 file. Reads synchronously, because the file is small. The settings are read in the same
 * way.
 * @throws ERR_CERTIFICATE with a message that explains what the file is and what to do, without the password
 */
export function readCertificate(source: CertificateSource): Certificate {
  const { file } = source
  const pfx = readFile(file)
  const passphrase = source.passphraseFile === null ? source.passphrase : readPassphrase(source.passphraseFile)
  try {
    const x509 = ownCertificate(pfx, passphrase)
    const digest = createHash('sha256').update(pfx).update('\0').update(passphrase).digest('hex')
    return { pfx, passphrase, x509, digest }
  } catch (error) {
    throw refused(file, whyRefused(basename(file), pfx, passphrase, error as Error), error)
  }
}

/**
 * Gets the file's certificate with Node's public API only: a server-side TLS socket returns its own certificate, even
 * without a connection.
 */
function ownCertificate(pfx: Buffer, passphrase: string): X509Certificate {
  const secureContext = createSecureContext({ pfx, passphrase })
  const nowhere = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const socket = new TLSSocket(nowhere, { isServer: true, secureContext })
  try {
    const x509 = socket.getX509Certificate()
    if (x509 === undefined) throw new Error('the file contains no certificate')
    return x509
  } finally {
    socket.on('error', () => undefined)
    socket.destroy()
  }
}

function readFile(file: string): Buffer {
  let descriptor: number
  try {
    // Without O_NONBLOCK, startup would hang if the path is a named pipe.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw refused(file, whyUnreadable(file, error as NodeJS.ErrnoException), error)
  }
  try {
    const { size } = checkKind(file, descriptor)
    if (size > LARGEST) {
      throw refused(
        file,
        `is ${size} bytes long. The maximum is ${LARGEST}. Set CERTIFICATE_NAME to the PKCS12 file with the certificate.`,
      )
    }
    const bytes = Buffer.alloc(size)
    const read = size === 0 ? 0 : readSync(descriptor, bytes, 0, size, 0)
    if (read === 0) throw refused(file, 'is empty. Copy the PKCS12 file there again.')
    return bytes.subarray(0, read)
  } finally {
    closeSync(descriptor)
  }
}

function checkKind(file: string, descriptor: number): { readonly size: number } {
  const stat = fstatSync(descriptor)
  if (!stat.isFile())
    throw refused(
      file,
      'is not a regular file. Set CERTIFICATE_NAME to the name of a PKCS12 file in CERTIFICATE_FOLDER.',
    )
  return stat
}

function whyUnreadable(file: string, { code }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') {
    return `does not exist: ${file}. Put the file into the folder CERTIFICATE_FOLDER. In a container, mount that folder.`
  }
  if (code === 'EACCES') return `this account cannot read: ${file}. Give this account read access (chmod, chown).`
  return `cannot be read (${code}): ${file}`
}

function readPassphrase(file: string): string {
  try {
    return readSecretFile(file)
  } catch (error) {
    throw new PlatformError('ERR_CERTIFICATE', unreadSecret('CERTIFICATE_PASS', error))
  }
}

function refused(file: string, why: string, cause?: unknown): PlatformError {
  return new PlatformError(
    'ERR_CERTIFICATE',
    `CERTIFICATE_NAME is set to "${basename(file)}", which ${why}`,
    {},
    { cause },
  )
}
