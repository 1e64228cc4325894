import { describe } from 'vitest'
import { usePlace } from '../../base/database/contract.ts'
import { mariadbPath, startMariadb } from '../../support/mariadb-server.ts'
import { postgresPath, startPostgres } from '../../support/postgres-server.ts'
import { testUsers } from './users-contract.ts'
import { testUsersCsv } from './users-csv-contract.ts'

describe.skipIf(postgresPath === undefined)('users on PostgreSQL (skipped where it is not installed)', () => {
  const place = usePlace('alpha', startPostgres)
  testUsers(place)
  testUsersCsv(place)
})

describe.skipIf(mariadbPath === undefined)('users on MariaDB (skipped where it is not installed)', () => {
  const place = usePlace('gamma', startMariadb)
  testUsers(place)
  testUsersCsv(place)
})
