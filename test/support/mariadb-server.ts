import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSharedServer, PASSWORD, type ServerProgram, startServer, type TestServer } from './database-server.ts'

/** The path of Debian's MariaDB server, or undefined if it is not installed. Tests that need it are then skipped. */
export const mariadbPath = ['/usr/sbin/mariadbd'].find((path) => existsSync(path))

/** Returns this worker's MariaDB server. Test files that don't need a separate server share it. */
export const sharedMariadb = createSharedServer((folder) => startMariadb({ folder }))

/** Starts a MariaDB server. Its administrator is `root`, with a password. The caller stops the server. */
export function startMariadb(options: { folder?: string } = {}): Promise<TestServer> {
  const program = mariadbPath
  if (program === undefined) throw new TypeError('there is no MariaDB to start: skip the test')
  const text = `'${PASSWORD.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const server: ServerProgram = {
    username: 'root',
    account: 'mysql',
    prepare({ path, run }) {
      run('mariadb-install-db', ['--no-defaults', `--datadir=${path}/data`, '--skip-test-db'])
      const account = "'root'@'127.0.0.1'"
      const statements = [
        `CREATE USER IF NOT EXISTS ${account};`,
        `ALTER USER ${account} IDENTIFIED BY ${text};`,
        `GRANT ALL PRIVILEGES ON *.* TO ${account} WITH GRANT OPTION;`,
      ]
      run('mkdir', [join(path, 'temporary')])
      writeFileSync(join(path, 'accounts.sql'), `${statements.join('\n')}\n`, { mode: 0o644 })
    },
    command: (path, port) => [
      program,
      '--no-defaults',
      `--datadir=${path}/data`,
      // Use a separate folder. On startup, a server deletes all temporary tables in this folder, even those of other
      // servers.
      `--tmpdir=${path}/temporary`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${path}/socket`,
      `--pid-file=${path}/pid`,
      `--init-file=${path}/accounts.sql`,
      '--skip-name-resolve',
      '--innodb-flush-log-at-trx-commit=2',
      '--debug-no-sync',
      '--skip-sync-frm',
    ],
    ready: /ready for connections/,
  }
  return startServer(server, options.folder)
}
