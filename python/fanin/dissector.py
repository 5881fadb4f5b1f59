"""A dissector for Wireshark and tshark, in Lua, of the headers that no standard has.

The layouts come from the code that writes and reads them (`_core.wire_layouts`).
"""

from __future__ import annotations

import json

from fanin import _core

BODY = r"""
-- A tree of a header at a byte; its fields by name, and the byte behind it.
local function show(key, tvb, at, tree)
  local header, values, bit = headers[key], {}, 0
  if at + header.length > tvb:len() then return nil, tvb:len() end
  local branch = tree:add(header.proto, tvb(at, header.length))
  for _, field in ipairs(header.fields) do
    local first, bytes = at + math.floor(bit / 8), math.floor((bit % 8 + field.bits + 7) / 8)
    local range = tvb(first, bytes)
    local value
    if header.little_endian then
      value = field.bits > 32 and range:le_uint64() or range:le_uint()
    elseif field.bits > 32 then
      value = range:uint64()
    else
      value = tvb(first, bytes):bitfield(bit % 8, field.bits)
    end
    branch:add(field.proto, range, value)
    values[field.name] = tonumber(tostring(value))
    bit = bit + field.bits
  end
  return values, at + header.length
end

local roce = DissectorTable.get("udp.port"):get_dissector(4791)

-- Telemetry between UDP and BTH: UDP port 1021.
local telemetry = Proto("fanin_int", "HPCC telemetry")
function telemetry.dissector(tvb, pinfo, tree)
  local int, at = show("int", tvb, 0, tree)
  if not int then return 0 end
  for _ = 1, math.min(int.hops, 5) do
    int, at = show("int_record", tvb, at, tree)
    if not int then return tvb:len() end
  end
  roce:call(tvb(at):tvb(), pinfo, tree)
end
DissectorTable.get("udp.port"):add(1021, telemetry)

-- Credits and requests: an Ethernet type for experiments.
local credit = Proto("fanin_credit", "Fanin credit")
function credit.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "CREDIT"
  show("credit", tvb, 0, tree)
end
DissectorTable.get("ethertype"):add(0x88B5, credit)

-- Dart in an Ethernet frame: opcodes of RoCEv2 that InfiniBand leaves to manufacturers.
local function dart(tvb, pinfo, tree)
  if tvb:len() < 54 or tvb(12, 2):uint() ~= 0x0800 or tvb(23, 1):uint() ~= 17 then return end
  local bth = 14 + 4 * tvb(14, 1):bitfield(4, 4) + 8
  if bth + 12 > tvb:len() or tvb(bth - 6, 2):uint() ~= 4791 then return end
  local opcode = tvb(bth, 1):uint()
  if opcode == 0xC0 then
    pinfo.cols.protocol, pinfo.cols.info = "DART", "Dart data "
    local data, at = show("dart", tvb, bth + 12, tree)
    if data and data.list == 1 then
      local list
      list, at = show("senders", tvb, at, tree)
      if list and at + 2 * list.count <= tvb:len() then
        for sender = 0, list.count - 1 do
          tree:add(sender_of_list, tvb(at + 2 * sender, 2))
        end
      end
    end
  elseif opcode == 0xD1 then
    pinfo.cols.protocol, pinfo.cols.info = "DART", "Dart ACK "
    show("dart_ack", tvb, bth + 16, tree)
  end
end

local ethernet = Field.new("eth.type")
function fanin.dissector(tvb, pinfo, tree)
  if ethernet() then dart(tvb, pinfo, tree) end
end
register_postdissector(fanin)

-- Datagrams between the processes of a run: the system chooses their ports, so say "Decode As" (udp.port, Fanin run).
local run = Proto("fanin_run", "Fanin run")
function run.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "FANIN"
  local datagram, at = show("datagram", tvb, 0, tree)
  while datagram and at < tvb:len() do
    local item
    item, at = show("item", tvb, at, tree)
    if not item or at + item.length > tvb:len() then return end
    if item.kind == 0 then
      local extension, frame = show("extension", tvb, at, tree)
      if extension then
        if extension.records ~= 255 then frame = frame + 32 * math.min(extension.records, 5) end
        if frame < at + item.length then
          local inner = tvb(frame, at + item.length - frame):tvb()
          Dissector.get("eth_withfcs"):call(inner, pinfo, tree)
          dart(inner, pinfo, tree)
        end
      end
    end
    at = at + item.length
  end
end
DissectorTable.get("udp.port"):add_for_decode_as(run)
"""


def lua() -> str:
    """The dissector as text. Its fields are `fanin.HEADER.FIELD` in display filters, such as `fanin.dart.message`."""
    lines = [
        "-- Headers of Fanin's captures that no standard has. Wireshark: into the folder of personal Lua plugins;",
        "-- tshark: -X lua_script:FILE. Made by `fanin wire dissector`.",
        'local fanin = Proto("fanin", "Fanin")',
        "local headers, protos = {}, {}",
    ]
    for key, about, little_endian, fields in _core.wire_layouts():
        little = "true" if little_endian else "false"
        length = sum(bits for _, bits, _ in fields) // 8
        proto = f"ProtoField.none({json.dumps(f'fanin.{key}')}, {json.dumps(about)})"
        head = f"proto = {proto}, length = {length}, little_endian = {little}, fields = {{}}"
        lines.append(f"headers.{key} = {{ {head} }}")
        for name, bits, meaning in fields:
            kind = next(width for width in (8, 16, 24, 32, 64) if bits <= width)
            abbreviation = f"fanin.{key}.{name}"
            proto = f"ProtoField.uint{kind}({json.dumps(abbreviation)}, {json.dumps(name)}, base.DEC, nil, nil, "
            lines.append(
                f"table.insert(headers.{key}.fields, {{ name = {json.dumps(name)}, bits = {bits}, "
                f"proto = {proto}{json.dumps(meaning)}) }})"
            )
    lines += [
        "for _, header in pairs(headers) do",
        "  table.insert(protos, header.proto)",
        "  for _, field in ipairs(header.fields) do table.insert(protos, field.proto) end",
        "end",
        'local sender_of_list = ProtoField.uint16("fanin.senders.sender", "sender", base.DEC)',
        "table.insert(protos, sender_of_list)",
        "fanin.fields = protos",
    ]
    return "\n".join(lines) + "\n" + BODY
