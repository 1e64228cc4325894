import type { Steps } from '../../base/database/migrations.ts'
import type { MailService, MailTables } from '../../base/mail/tables.ts'

declare module '../database/tables.ts' {
  interface CenterTables extends Pick<MailTables, 'mails' | 'mail_counts'> {}
}

export const CENTER_MAIL: MailService = {
  mails: 'mails',
  counts: 'mail_counts',
  sender: 'The organisation',
  ifWaiting:
    'If the problem persists, ask the operator of the control center to check its log for the reason the mail server rejects emails.',
  ifUsedUp: 'ask the operator of the control center to raise MAILS_HOURLY',
  usedUp: 'an organisation has reached its hourly email limit. To allow more emails, raise MAILS_HOURLY',
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

export const MAIL_SHARE_STEPS: Steps = (schema, { key }) => [
  schema.alterTable('mails').addColumn('organisation', key, (column) => column.notNull().defaultTo('')),
  schema.createIndex('mails_of_organisation').on('mails').columns(['organisation', 'next_at']),
  schema
    .createTable('mail_counts')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('asked_by', key, (column) => column.notNull())
    .addColumn('hour', 'bigint', (column) => column.notNull())
    .addColumn('count', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('mail_counts_key', ['organisation', 'asked_by']),
]
