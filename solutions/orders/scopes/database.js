const CREATE_ORDERS = `CREATE TABLE IF NOT EXISTS orders (
  id INTEGER PRIMARY KEY, customer TEXT NOT NULL, mail TEXT NOT NULL, ordered TEXT NOT NULL, amount REAL NOT NULL,
  status TEXT NOT NULL, notes TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 1, changed_by TEXT NOT NULL
)`

const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS history (
  id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, changed_at TEXT NOT NULL DEFAULT (datetime('now')),
  changed_by TEXT NOT NULL, status TEXT NOT NULL, amount REAL NOT NULL
)`

// Each query is a separate transaction, so triggers write the history: no change can be stored without it.
const createTrigger = (when) => `CREATE TRIGGER IF NOT EXISTS history_after_${when} AFTER ${when} ON orders BEGIN
  INSERT INTO history (order_id, changed_by, status, amount) VALUES (NEW.id, NEW.changed_by, NEW.status, NEW.amount);
END`

// Ids are reused, so delete a removed order's history.
const FORGET_HISTORY = `CREATE TRIGGER IF NOT EXISTS history_after_DELETE AFTER DELETE ON orders BEGIN
  DELETE FROM history WHERE order_id = OLD.id;
END`

// Use a single statement, so that the table is filled only once even if two users open the solution at the same time.
const FILL = `INSERT INTO orders (customer, mail, ordered, amount, status, notes, changed_by)
  SELECT value ->> 'customer', value ->> 'mail', value ->> 'ordered', value ->> 'amount', value ->> 'status',
    value ->> 'notes', 'sample' FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM orders)`

const COLUMNS = `id, 'O-' || (1000 + id) AS number, customer, mail, ordered, amount, status, notes, revision`

async function setUpDatabase() {
  for (const sql of [CREATE_ORDERS, CREATE_HISTORY, createTrigger('INSERT'), createTrigger('UPDATE'), FORGET_HISTORY]) {
    await query(sql)
  }
  await query(FILL, [JSON.stringify(sampleOrders())])
}

/** @param status null for any status */
function findOrders(text, status) {
  return query(
    `SELECT ${COLUMNS} FROM orders WHERE instr(lower(number || ' ' || customer || ' ' || mail), lower(?)) > 0
      AND (? IS NULL OR status = ?) ORDER BY ordered DESC, id DESC`,
    [text.trim(), status, status],
  )
}

async function readOrder(id) {
  const [order] = await query(`SELECT ${COLUMNS} FROM orders WHERE id = ?`, [id])
  return order
}

/** @returns the stored order; undefined if another user changed the order after it was read */
async function saveOrder({ id, customer, mail, ordered, amount, status, notes, revision }) {
  const values = [customer, mail, ordered, amount, status, notes, security.getUserName()]
  const [saved] = id
    ? await query(
        `UPDATE orders SET customer = ?, mail = ?, ordered = ?, amount = ?, status = ?, notes = ?, changed_by = ?,
          revision = revision + 1 WHERE id = ? AND revision = ? RETURNING id`,
        [...values, id, revision],
      )
    : await query(
        `INSERT INTO orders (customer, mail, ordered, amount, status, notes, changed_by)
          VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
        values,
      )
  return saved && readOrder(saved.id)
}

/** @returns false if another user changed the order after it was read */
async function setApproved({ id, revision }) {
  const changed = await query(
    `UPDATE orders SET status = 'approved', changed_by = ?, revision = revision + 1
      WHERE id = ? AND revision = ? RETURNING id`,
    [security.getUserName(), id, revision],
  )
  return changed.length === 1
}

/** A second delivery of the same webhook changes nothing. */
function setShipped(id) {
  return query(
    `UPDATE orders SET status = 'shipped', changed_by = 'carrier', revision = revision + 1
      WHERE id = ? AND status = 'approved'`,
    [id],
  )
}

/** @returns the orders that were removed; orders that no longer existed are not included */
function removeOrders(ids) {
  return query('DELETE FROM orders WHERE id IN (SELECT value FROM json_each(?)) RETURNING id', [JSON.stringify(ids)])
}

function readHistory(id) {
  return query('SELECT id, changed_at, changed_by, status, amount FROM history WHERE order_id = ? ORDER BY id DESC', [
    id,
  ])
}

function query(sql, parameters = []) {
  return plugins.database.query('orders', sql, parameters)
}
