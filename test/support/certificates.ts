import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const CERTIFICATE_PASS = 'pass of the file'

export type CertificateFolder = {
  readonly path: string
  /** The PEM file of the certificate authority that signs all certificates in this folder. */
  readonly authority: string
  /** Runs openssl in the folder. The argument `$` is replaced by the password. */
  readonly openssl: (words: string) => Promise<void>
  /** Runs shell commands in the folder, such as those that an error message suggests. */
  readonly shell: (command: string) => Promise<void>
  /** Issues a certificate. Creates `name.pem`, `name-key.pem` and `name.p12`. */
  readonly issue: (name: string, options?: Issue) => Promise<void>
  readonly bytes: (file: string) => Buffer
  readonly write: (file: string, bytes: string | Buffer) => void
  readonly [Symbol.dispose]: () => void
}

export type Issue = { readonly days?: number; readonly names?: string; readonly key?: string; readonly digest?: string }

const NAMES = 'DNS:localhost,DNS:apps.example.test,DNS:*.apps.example.test,IP:127.0.0.1'

/** Creates a temporary folder with its own certificate authority. Uses the openssl program of this machine. */
export async function certificateFolder(): Promise<CertificateFolder> {
  const path = mkdtempSync(join(tmpdir(), 'solhost-certificate-'))
  const env = { ...process.env, CERTIFICATE_PASS }
  const run = promisify(execFile)
  const openssl = async (words: string) => {
    const list = words.split(' ').map((word) => (word === '$' ? 'env:CERTIFICATE_PASS' : word))
    await run('openssl', list, { cwd: path, env })
  }
  const write = (file: string, bytes: string | Buffer) => writeFileSync(join(path, file), bytes)
  const P256 = 'ec -pkeyopt ec_paramgen_curve:P-256'
  await openssl(`req -x509 -newkey ${P256} -nodes -keyout ca-key.pem -out ca.pem -days 900 -subj /CN=authority`)
  return {
    path,
    authority: join(path, 'ca.pem'),
    openssl,
    write,
    bytes: (file) => readFileSync(join(path, file)),
    shell: async (command) => void (await run('bash', ['-e', '-o', 'pipefail', '-c', command], { cwd: path, env })),
    async issue(name, { days = 400, names = NAMES, key = P256, digest = 'sha256' } = {}) {
      write(`${name}.cnf`, `subjectAltName=${names}\n`)
      await openssl(`req -newkey ${key} -nodes -keyout ${name}-key.pem -out ${name}.csr -subj /CN=${name}`)
      await openssl(
        `x509 -req -${digest} -in ${name}.csr -CA ca.pem -CAkey ca-key.pem -extfile ${name}.cnf -days ${days} -out ${name}.pem`,
      )
      await openssl(`pkcs12 -export -in ${name}.pem -inkey ${name}-key.pem -out ${name}.p12 -passout $`)
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
