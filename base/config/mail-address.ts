import { z } from '../../runtime/zod.ts'

/**
 * An address to send emails to. Chosen here: only addresses that all mail servers parse the same way. No part can then
 * be interpreted as a second address or as a header.
 */
export const MailAddress = z
  .email('must be an email address such as anna@example.org')
  .max(254, 'must be an email address of at most 254 characters')
