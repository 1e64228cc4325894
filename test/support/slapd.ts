import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { certificateFolder } from './certificates.ts'
import { freePort, type ServerProgram, startServer, type TestServer } from './database-server.ts'
import { runFolder } from './run-folder.ts'
import { waitUntil } from './wait-until.ts'

/** A real OpenLDAP server on loopback. Its data is in a temporary folder. */
export type Slapd = Pick<TestServer, 'kill' | 'restart' | 'isAlive'> & {
  /** The URL for LDAP over TLS. */
  readonly ldaps: string
  /** The URL for StartTLS. slapd rejects sign-ins without encryption. */
  readonly ldap: string
  /** The certificate authority's certificate, in PEM format. */
  readonly ca: string
}

const PROGRAM = '/usr/sbin/slapd'
const SUFFIX = 'dc=example,dc=org'
export const PEOPLE = `ou=People,${SUFFIX}`
export const GROUPS = `ou=Groups,${SUFFIX}`
/** The account that the host searches with. It can read everything except passwords. */
export const SEARCHER = { dn: `cn=searcher,${SUFFIX}`, password: 'searcher’s secret: "\\*()' }
/** The administrator's account, for tests that change entries. */
export const ROOT = { dn: `cn=root,${SUFFIX}`, password: 'root secret' }

const CONFIGURATION = (path: string) => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile ${path}/slapd.pid
TLSCACertificateFile ${path}/ca.pem
TLSCertificateFile ${path}/server.pem
TLSCertificateKeyFile ${path}/server-key.pem
security simple_bind=128
database mdb
suffix "${SUFFIX}"
rootdn "${ROOT.dn}"
rootpw "${ROOT.password}"
directory ${path}/data
dbnosync
index objectClass,uid,entryUUID eq
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${SEARCHER.dn}" read by * none
`

const ENTRIES = `
dn: ${SUFFIX}
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ${SEARCHER.dn}
objectClass: applicationProcess
objectClass: simpleSecurityObject
cn: searcher
userPassword:: ${Buffer.from(SEARCHER.password).toString('base64')}

dn: ${PEOPLE}
objectClass: organizationalUnit
ou: People

dn: ${GROUPS}
objectClass: organizationalUnit
ou: Groups
`

let starting: Promise<Slapd> | undefined

/**
 * Returns this worker's OpenLDAP server. Test files share it, so the names of their entries must be unique.
 * @throws Error if Debian's package slapd is not installed
 */
export async function sharedSlapd(): Promise<Slapd> {
  if (!existsSync(PROGRAM)) throw new Error('These tests need OpenLDAP: install the package slapd.')
  // Vitest stops a worker with SIGTERM. Without a handler for it, the process's exit listeners would not be called.
  if (starting === undefined) process.once('SIGTERM', () => process.exit())
  starting ??= startSlapd()
  const server = await starting
  // The previous test file may have failed and left the server stopped.
  if (!server.isAlive()) await server.restart()
  return server
}

async function startSlapd(): Promise<Slapd> {
  using certificates = await certificateFolder()
  await certificates.issue('server', { names: 'DNS:localhost,IP:127.0.0.1' })
  const plain = await freePort()
  const program: ServerProgram = {
    username: ROOT.dn,
    account: 'openldap',
    prepare({ path, run }) {
      writeFileSync(join(path, 'slapd.conf'), CONFIGURATION(path))
      writeFileSync(join(path, 'entries.ldif'), ENTRIES)
      for (const name of ['ca.pem', 'server.pem', 'server-key.pem']) {
        writeFileSync(join(path, name), certificates.bytes(name), { mode: 0o644 })
      }
      run('mkdir', ['data'])
      run('/usr/sbin/slapadd', ['-f', 'slapd.conf', '-l', 'entries.ldif'])
    },
    command: (path, port) => [
      PROGRAM,
      ...['-f', join(path, 'slapd.conf'), '-d', 'none'],
      ...['-h', `ldaps://127.0.0.1:${port} ldap://127.0.0.1:${plain}`],
    ],
    ready: /slapd starting/,
  }
  const { address, restart, ...server } = await startServer(program, runFolder())
  const ca = readFileSync(certificates.authority, 'utf8')
  // Poll the port, because slapd reports its start shortly before it listens.
  const untilListening = () => waitUntil(() => Promise.all([address.port, plain].map(connectOnce)))
  await untilListening()
  return {
    ...server,
    async restart() {
      await restart()
      await untilListening()
    },
    ldaps: `ldaps://127.0.0.1:${address.port}`,
    ldap: `ldap://127.0.0.1:${plain}`,
    ca,
  }
}

function connectOnce(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    }).once('error', reject)
  })
}
