import { afterAll, beforeAll, describe } from 'vitest'
import { readSettings } from '../../host/config/settings.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import type { HostDatabase } from '../../host/database/tables.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { testJobs } from '../support/job-contract.ts'
import { mariadbPath, sharedMariadb } from '../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

function testServer(product: string, kind: 'alpha' | 'gamma', start: () => Promise<TestServer>): void {
  let server: TestServer
  let db: HostDatabase
  beforeAll(async () => {
    server = await start()
    db = await openHostDatabase(readSettings(sharedProperties(kind, server)))
  }, SERVER_START)
  afterAll(async () => {
    await db?.destroy()
    await server?.stop()
  })
  testJobs(product, () => db)
}

describe.skipIf(postgresPath === undefined)('jobs on PostgreSQL (skipped where it is not installed)', () =>
  testServer('PostgreSQL', 'alpha', sharedPostgres),
)

describe.skipIf(mariadbPath === undefined)('jobs on MariaDB (skipped where it is not installed)', () =>
  testServer('MariaDB', 'gamma', sharedMariadb),
)
