// Senders of webhooks wait only a few seconds, and send again if there is no response. So the endpoints only queue
// the work. The sender's own id is the key: if a webhook arrives twice, there is one run.

/** The host has checked the signature of Stripe. */
function receiveStripe({ body }) {
  if (body.type === 'payment_intent.succeeded') {
    const { id, amount, currency } = body.data.object
    plugins.jobs.enqueue('processPayment', { event: body.id, payment: id, amount, currency }, { key: body.id })
  }
  return { received: true }
}

/** The host has checked the signature of GitHub, which sends the same delivery again on request. */
function receiveGithub({ body, headers }) {
  const delivery = headers['x-github-delivery']
  if (headers['x-github-event'] === 'push') {
    const commits = body.commits.map(({ id, message }) => ({ id, message: message.slice(0, 200) }))
    plugins.jobs.enqueue('processPush', { delivery, repository: body.repository.full_name, commits }, { key: delivery })
  }
  return { received: true }
}

async function processPayment({ data }) {
  const isNew = await remember(data.event, 'payment', `${data.amount} ${data.currency}`)
  return { payment: data.payment, isNew }
}

async function processPush({ data }) {
  const isNew = await remember(data.delivery, 'push', data.repository)
  return { commits: data.commits.length, isNew }
}

/** A run can happen twice if its host stops at the wrong moment, so each event is stored once. */
async function remember(id, kind, text) {
  await query('CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL)')
  const added = await query(
    'INSERT INTO events (id, kind, text) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id',
    [id, kind, text],
  )
  return added.length === 1
}

function query(sql, parameters = []) {
  return plugins.database.query('events', sql, parameters)
}

function onSolutionOpen() {
  return null
}
