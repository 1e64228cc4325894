import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { type Samba, startSamba } from '../support/samba.ts'
import { askAdmin, visit } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'
import type { Rows } from './report.ts'

const ADMIN = 'secret-of-admin'
const SEARCHER = 'Searcher-with-few-rights-7'
const passwordOf = (name: string) => `Green-tractors-of-${name}-8`
/** The number of sequential sign-ins. Each one opens and closes a connection to the directory. */
const MANY = Number(process.env.LONG_SIGN_INS ?? 100)

/**
 * Adds three users. Anna is in a group with mapped permissions, Bram is in a group nested in it, and Dora is in no
 * group.
 */
function addPeople({ tool }: Pick<Samba, 'tool'>): void {
  const addUser = (name: string, password: string, ...more: string[]) => tool('user', 'create', name, password, ...more)
  addUser('searcher', SEARCHER)
  for (const name of ['anna', 'bram', 'dora']) addUser(name, passwordOf(name), `--mail-address=${name}@corp.test`)
  for (const name of ['Sales', 'North']) tool('group', 'add', name)
  tool('group', 'addmembers', 'Sales', 'anna,North')
  tool('group', 'addmembers', 'North', 'bram')
}

/** Signs in users from an Active Directory domain, run by Samba, over ldaps and StartTLS. */
export async function samba(rows: Rows): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-samba-host-'))
  const domain = await startSamba(addPeople)
  const { child, url, gone } = await startHostProcess(home, { SERVLET_PASSWORD: ADMIN, LOG_LEVEL: 'warn' })
  try {
    const admin = `Basic ${Buffer.from(`admin:${ADMIN}`).toString('base64')}`
    const host = { url, admin }
    const headers = { authorization: admin, 'content-type': 'application/zip' }
    const body = await bundleOf({ name: 'crm', authenticator: 'DEFAULT' })
    await ask(`${url}/admin/api/solutions/crm`, { method: 'PUT', headers, body })
    rows.tell('time to create the domain, s', domain.provisionTime / 1000)
    for (const scheme of ['ldaps', 'ldap'] as const) await checkSignIns(host, domain, scheme, rows)
    await checkCertificate(host, domain, rows)
    rows.atLeast(
      'host and domain controller still running',
      2,
      Number(child.exitCode === null) + Number(domain.isAlive()),
    )
  } finally {
    child.kill('SIGTERM')
    await gone
    await domain.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

type Reached = { readonly url: string; readonly admin: string }

function settingsOf({ base, ca }: Samba, url: string, nestedGroups: boolean) {
  return {
    urls: [url],
    ca,
    bindDn: `CN=searcher,CN=Users,${base}`,
    bindPassword: SEARCHER,
    base,
    filter: '(&(objectCategory=person)(objectClass=user)(sAMAccountName={name}))',
    idAttribute: 'objectGUID',
    attributes: { username: 'sAMAccountName', displayName: 'displayName', email: 'mail' },
    groups: [{ dn: `CN=Sales,CN=Users,${base}`, permissions: ['Users'] }],
    nestedGroups,
  }
}

async function signIn(host: Reached, name: string, password: string): Promise<number> {
  return (await (await visit(host, 'crm')).signIn(name, password)).status
}

async function checkSignIns(host: Reached, domain: Samba, scheme: 'ldaps' | 'ldap', rows: Rows): Promise<void> {
  const how = scheme === 'ldaps' ? 'ldaps' : 'StartTLS'
  const url = `${scheme}://${domain.address}`
  await askAdmin(host, 'PUT', 'directories/corp', settingsOf(domain, url, true))
  const { steps } = await askAdmin(host, 'POST', 'directories/corp/test', { username: 'anna' }, 200)
  const failed = (steps as { step: string; result: string; message: string }[]).filter(({ result }) => result !== 'ok')
  for (const { step, message } of failed) rows.tell(`${how}: failed step ${step}`, message)
  rows.atLeast(`${how}: steps of the test that are OK`, 6, (steps as unknown[]).length - failed.length)

  const accepted = [await signIn(host, 'anna', passwordOf('anna')), await signIn(host, 'bram', passwordOf('bram'))]
  const refused = [
    await signIn(host, 'dora', passwordOf('dora')),
    await signIn(host, 'anna', 'wrong'),
    await signIn(host, 'anna', ''),
    await signIn(host, '*', passwordOf('anna')),
    await signIn(host, 'nobody', passwordOf('anna')),
  ]
  await askAdmin(host, 'PUT', 'directories/corp', settingsOf(domain, url, false))
  refused.push(await signIn(host, 'bram', passwordOf('bram')))
  const countOf = (statuses: readonly number[], wanted: number) => statuses.filter((one) => one === wanted).length
  rows.atLeast(`${how}: people of the group, or of a group within it, who signed in`, 2, countOf(accepted, 303))
  rows.atLeast(`${how}: sign-ins that were refused as they must be`, 6, countOf(refused, 401))
  const { items } = await askAdmin(host, 'GET', 'audit?action=directory&outcome=refused')
  const noted = (items as { actor: string; target: string }[]).filter(({ target }) =>
    target.includes('no mapped group'),
  )
  rows.atLeast(
    `${how}: people without a mapped group in the audit log`,
    2,
    new Set(noted.map(({ actor }) => actor)).size,
  )

  const start = performance.now()
  const statuses: number[] = []
  for (let at = 0; at < MANY; at++) statuses.push(await signIn(host, 'anna', passwordOf('anna')))
  rows.atLeast(`${how}: sign-ins, of ${MANY} in a row`, MANY, countOf(statuses, 303))
  rows.tell(`${how}: time of one, ms`, (performance.now() - start) / MANY)
}

/**
 * Checks that a certificate for a different address is rejected. The URL contains a loopback proxy's address, but the
 * certificate is for the domain controller.
 */
async function checkCertificate(host: Reached, domain: Samba, rows: Rows): Promise<void> {
  const proxy = createServer((socket) => {
    const other = connect({ host: domain.address, port: 636 })
    for (const one of [socket, other]) one.on('error', () => {})
    socket.pipe(other).pipe(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  try {
    const url = `ldaps://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    await askAdmin(host, 'PUT', 'directories/corp', settingsOf(domain, url, true))
    const { steps } = await askAdmin(host, 'POST', 'directories/corp/test', {}, 200)
    const [connection] = steps as { result: string; message: string }[]
    rows.tell('URL whose name is not in the certificate', connection?.message ?? '')
    rows.atMost('steps that are OK with this URL', 0, Number(connection?.result === 'ok'))
    rows.atLeast('status of a sign-in with this URL', 503, await signIn(host, 'anna', passwordOf('anna')))
  } finally {
    proxy.close()
  }
}
