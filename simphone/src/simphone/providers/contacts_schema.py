"""The tables and views of contacts2.db."""

from __future__ import annotations

from .provider import columns

PHONE = "vnd.android.cursor.item/phone_v2"
EMAIL = "vnd.android.cursor.item/email_v2"
NAME = "vnd.android.cursor.item/name"
NOTE = "vnd.android.cursor.item/note"

_DATA = ", ".join(f"data{n}" for n in range(1, 16))
_DATA_COLUMNS = ", ".join(f"data{n} {'BLOB' if n == 15 else 'TEXT'}" for n in range(1, 16))

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS accounts (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, account_name TEXT, account_type TEXT, data_set TEXT);
INSERT OR IGNORE INTO accounts (_id) VALUES (1);
CREATE TABLE IF NOT EXISTS raw_contacts (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL DEFAULT 1, sourceid TEXT,
  version INTEGER NOT NULL DEFAULT 1, dirty INTEGER NOT NULL DEFAULT 0,
  deleted INTEGER NOT NULL DEFAULT 0, contact_id INTEGER, aggregation_mode INTEGER DEFAULT 0,
  starred INTEGER NOT NULL DEFAULT 0, display_name TEXT, sort_key TEXT);
CREATE TABLE IF NOT EXISTS contacts (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, name_raw_contact_id INTEGER, photo_id INTEGER,
  photo_file_id INTEGER, custom_ringtone TEXT, send_to_voicemail INTEGER NOT NULL DEFAULT 0,
  times_contacted INTEGER NOT NULL DEFAULT 0, last_time_contacted INTEGER DEFAULT 0,
  starred INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,
  has_phone_number INTEGER NOT NULL DEFAULT 0, lookup TEXT,
  contact_last_updated_timestamp INTEGER);
CREATE TABLE IF NOT EXISTS mimetypes (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, mimetype TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS data (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, mimetype_id INTEGER NOT NULL,
  raw_contact_id INTEGER NOT NULL, is_primary INTEGER NOT NULL DEFAULT 0,
  is_super_primary INTEGER NOT NULL DEFAULT 0, data_version INTEGER NOT NULL DEFAULT 0,
  {_DATA_COLUMNS});
CREATE INDEX IF NOT EXISTS data_raw_contact_id ON data (raw_contact_id);
CREATE TABLE IF NOT EXISTS phone_lookup (
  data_id INTEGER, raw_contact_id INTEGER NOT NULL, normalized_number TEXT NOT NULL,
  min_match TEXT NOT NULL);
CREATE VIEW IF NOT EXISTS view_raw_contacts AS
  SELECT r._id, r.contact_id, a.account_name, a.account_type, a.data_set, r.sourceid, r.version,
    r.dirty, r.deleted, r.aggregation_mode, r.starred, r.display_name, r.sort_key
  FROM raw_contacts r LEFT JOIN accounts a ON a._id = r.account_id;
CREATE VIEW IF NOT EXISTS view_contacts AS
  SELECT c._id, r.display_name, r.display_name AS display_name_alt, r.sort_key, c.lookup,
    c.name_raw_contact_id, c.has_phone_number, c.starred, c.pinned, c.times_contacted,
    c.last_time_contacted, c.photo_id, c.photo_file_id, c.custom_ringtone, c.send_to_voicemail,
    c.contact_last_updated_timestamp, 1 AS in_visible_group, 0 AS is_user_profile
  FROM contacts c JOIN raw_contacts r ON r._id = c.name_raw_contact_id AND r.deleted = 0;
CREATE VIEW IF NOT EXISTS view_data AS
  SELECT d._id, d.raw_contact_id, r.contact_id, m.mimetype, d.is_primary, d.is_super_primary,
    d.data_version, {_DATA.replace("data", "d.data")}, r.display_name, r.sort_key, c.lookup,
    c.has_phone_number, c.starred, c.photo_id, a.account_name, a.account_type
  FROM data d JOIN mimetypes m ON m._id = d.mimetype_id
    JOIN raw_contacts r ON r._id = d.raw_contact_id AND r.deleted = 0
    LEFT JOIN contacts c ON c._id = r.contact_id LEFT JOIN accounts a ON a._id = r.account_id;
"""
RAW_CONTACTS = columns(
    "_id,contact_id,account_name,account_type,data_set,sourceid,version,dirty,deleted,"
    "aggregation_mode,starred,display_name,sort_key"
)
CONTACTS = columns(
    "_id,display_name,display_name_alt,sort_key,lookup,name_raw_contact_id,has_phone_number,"
    "starred,pinned,times_contacted,last_time_contacted,photo_id,photo_file_id,custom_ringtone,"
    "send_to_voicemail,contact_last_updated_timestamp,in_visible_group,is_user_profile"
)
DATA = (
    *columns("_id,raw_contact_id,contact_id,mimetype,is_primary,is_super_primary,data_version"),
    *(f"data{n}" for n in range(1, 16)),
    *columns("display_name,sort_key,lookup,has_phone_number,starred,photo_id"),
    *columns("account_name,account_type"),
)
