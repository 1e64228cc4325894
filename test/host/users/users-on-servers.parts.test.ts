import { describe } from 'vitest'
import { usePlace } from '../../base/database/contract.ts'
import { cheapPasswords } from '../../support/cheap-passwords.ts'
import { mariadbPath, sharedMariadb } from '../../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'
import { testLinks } from '../links/links-contract.ts'
import { testUsers } from './users-contract.ts'
import { testUsersCsv } from './users-csv-contract.ts'

describe.skipIf(postgresPath === undefined)('users on PostgreSQL (skipped where it is not installed)', () => {
  const place = usePlace('alpha', sharedPostgres)
  testUsers(place, cheapPasswords)
  testLinks(place, cheapPasswords)
  testUsersCsv(place, cheapPasswords)
})

describe.skipIf(mariadbPath === undefined)('users on MariaDB (skipped where it is not installed)', () => {
  const place = usePlace('gamma', sharedMariadb)
  testUsers(place, cheapPasswords)
  testLinks(place, cheapPasswords)
  testUsersCsv(place, cheapPasswords)
})
