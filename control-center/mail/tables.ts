import type { Steps } from '../../host/database/migrations.ts'

export type MailTables = {
  /**
   * Mails that wait to be sent: a mail that is lost at a restart is a lost invitation. `sealed` is what it says, encrypted,
   * since there are links in it that let somebody in. From `next_at` on it is tried (again).
   */
  mails: {
    id: string
    sealed: string
    created_at: number
    next_at: number
    attempts: number
  }
}

export const MAIL_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('mails')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('sealed', text, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('next_at', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull()),
  schema.createIndex('mails_due').on('mails').columns(['next_at']),
]
