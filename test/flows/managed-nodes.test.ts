import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import type { TestHost } from '../support/host.ts'
import { ADMIN_PASSWORD } from '../support/host.ts'
import { sharedProperties } from '../support/host-group.ts'
import { activeOf, addPackage, startSatellite, versionOf } from '../support/managed.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

const OFTEN = { interval: 50 }

describe.skipIf(postgresPath === undefined)(
  'a Satellite with two nodes, and its control center, with PostgreSQL',
  () => {
    let server: TestServer
    let center: TestCenter
    const nodes: TestHost[] = []

    beforeAll(async () => {
      server = await sharedPostgres()
      const shared = sharedProperties('alpha', server)
      const properties = { ...shared, SERVLET_PASSWORD: ADMIN_PASSWORD }
      center = await startTestCenter({ ...properties, PLATFORM_DATABASE_NAME: 'center' })
      const { token } = await center.environment('both')
      for (let node = 0; node < 2; node++) nodes.push(await startSatellite(center, token, properties))
    }, SERVER_START + 60_000)
    afterAll(async () => {
      for (const node of nodes) await node.stop()
      await center?.stop()
      await server?.stop()
    })

    test('one node applies a version, both report it, and the rollout waits for both', async () => {
      const version = await versionOf('1.0.0')
      await addPackage(center, version)
      const seen = async () => (await center.api('GET', 'organisations/acme/environments/both/desired')).body
      await expect.poll(async () => (await seen()).nodes.length, OFTEN).toBe(2)
      const body = { version: `crm@${version.sha256}`, environments: ['both'] }
      const { id } = (await center.api('POST', 'organisations/acme/rollouts', body)).body
      const stateOf = async () => (await center.api('GET', `organisations/acme/rollouts/${id}`)).body.state
      await expect.poll(stateOf, OFTEN).toBe('done')
      for (const node of nodes) expect(await activeOf(node)).toBe('1.0.0')
      const { number, nodes: reports } = await seen()
      expect(reports.map((one: { number: number }) => one.number)).toEqual([number, number])
      const applied = nodes.filter((node) =>
        node.logged().includes('the desired state from the control center was applied'),
      )
      expect(applied).toHaveLength(1)
    })

    test('settings apply on both nodes', async () => {
      const settings = { defaultSolution: 'crm' }
      await center.api('PUT', 'organisations/acme/environments/both/desired/settings', settings)
      const startOf = async (node: TestHost) => (await fetch(`${node.url}/`, { redirect: 'manual' })).status
      for (const node of nodes) await expect.poll(() => startOf(node), OFTEN).toBe(302)
    })

    test('simultaneous changes get different sequence numbers', async () => {
      const { parts } = center
      const { id } = await parts.environments.need((await parts.organisations.find('acme'))?.id ?? '', 'both')
      const change = (level: 'info' | 'warn') =>
        parts.desiredStates.change(id, ({ solutions }) => ({ solutions, settings: { logLevel: level } }))
      const made = await Promise.all([change('info'), change('warn'), change('info')])
      expect(new Set(made.map(({ number }) => number)).size).toBe(3)
    })
  },
)
