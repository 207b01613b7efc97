// Burst reader: AXI4 read master. A command (byte address, bytes) becomes a stream of beats and one status. The last
// beat comes whole, also if the command ends inside it.
//
// Rules it keeps:
// - bursts are INCR, aligned, at most MAX_BURST beats and never cross 4 KB; up to OUTSTANDING are under way;
// - a burst is requested only when the buffer has room for the largest one, so RREADY does not depend on the
//   consumer of the data; a command is taken only when its status has room, so it does not depend on the consumer
//   of the statuses either (but after OUTSTANDING commands whose statuses nobody takes, no command is taken);
// - commands, data and statuses keep their order. The status comes no earlier than the command's last R beat;
// - zero bytes are a no-op with status OK; an unaligned command has a status and neither bus traffic nor data.
`default_nettype none

module hlsc_axi_read #(
    parameter int DATA_WIDTH   = 512,  // bits of one beat: 32, 64, 128, 256, 512 or 1024
    parameter int ADDR_WIDTH   = 64,   // bits of a byte address
    parameter int LENGTH_WIDTH = 32,   // bits of a command's length in bytes
    parameter int ID_WIDTH     = 1,    // bits of ARID and RID; ARID is always 0
    parameter int MAX_BURST    = 16,   // beats of the largest burst: a power of two up to 256
    parameter int OUTSTANDING  = 16,   // bursts under way, and commands with a status not yet taken
    parameter int BUFFER       = OUTSTANDING * MAX_BURST  // beats the buffer holds; at least one burst
) (
    input  wire                     clk,
    input  wire                     rst,              // synchronous, active high
    input  wire                     command_valid,
    output logic                    command_ready,
    input  wire  [  ADDR_WIDTH-1:0] command_address,  // bytes, a multiple of the beat's bytes
    input  wire  [LENGTH_WIDTH-1:0] command_bytes,
    output logic                    data_valid,
    input  wire                     data_ready,
    output logic [  DATA_WIDTH-1:0] data,
    output logic                    data_last,        // the command's last beat
    output logic                    status_valid,
    input  wire                     status_ready,
    output logic [             1:0] status,           // 0 ok, 1 unaligned, 2 SLVERR, 3 DECERR (the worst beat's)
    output logic                    arvalid,
    input  wire                     arready,
    output logic [  ADDR_WIDTH-1:0] araddr,
    output logic [    ID_WIDTH-1:0] arid,
    output logic [             7:0] arlen,
    output logic [             2:0] arsize,
    output logic [             1:0] arburst,
    output logic [             1:0] arlock,
    output logic [             3:0] arcache,
    output logic [             2:0] arprot,
    output logic [             3:0] arqos,
    output logic [             3:0] arregion,
    input  wire                     rvalid,
    output logic                    rready,
    input  wire  [  DATA_WIDTH-1:0] rdata,
    input  wire                     rlast,
    input  wire  [             1:0] rresp
);
  localparam int BYTES = DATA_WIDTH / 8;
  localparam int BURST = (MAX_BURST * BYTES > 4096) ? 4096 / BYTES : MAX_BURST;  // beats
  localparam int S = $clog2(BYTES);
  localparam int L = LENGTH_WIDTH - S + 1;  // bits of a number of beats in a command
  localparam int F = $clog2(BUFFER + 1);  // bits of a number of buffer places
  localparam int N = $clog2(OUTSTANDING + 1);  // bits of a number of commands

  if (DATA_WIDTH < 32 || DATA_WIDTH > 1024 || 2 ** $clog2(DATA_WIDTH) != DATA_WIDTH) begin : gen_width
    $error("%m: DATA_WIDTH (%0d) must be a power of two from 32 to 1024", DATA_WIDTH);
  end
  if (MAX_BURST < 1 || MAX_BURST > 256 || 2 ** $clog2(MAX_BURST) != MAX_BURST) begin : gen_burst
    $error("%m: MAX_BURST (%0d) must be a power of two from 1 to 256", MAX_BURST);
  end
  if (OUTSTANDING < 1 || BUFFER < BURST) begin : gen_buffer
    $error("%m: OUTSTANDING (%0d) must be at least 1, BUFFER (%0d) one burst (%0d)", OUTSTANDING, BUFFER, BURST);
  end

  // Commands to items: a burst, or a skip (nothing to read)
  logic [L-1:0] command_beats;
  logic split_ready, item_valid, item_ready, item_last, item_unaligned, item_skip;
  logic [ADDR_WIDTH-1:0] item_address;
  logic [8:0] item_beats;
  logic [7:0] item_length;  // as AxLEN: beats - 1
  logic [N-1:0] commands;  // commands taken whose status was not yet taken
  logic command_room;

  assign command_ready = split_ready && command_room;
  assign command_beats = L'(command_bytes[LENGTH_WIDTH-1:S]) + L'(|command_bytes[S-1:0]);

  hlsc_axi_split #(
      .ADDR_WIDTH(ADDR_WIDTH), .BYTES(BYTES), .LENGTH_WIDTH(L), .BURST(BURST), .CHUNK_UNALIGNED(0)
  ) split (
      .clk, .rst,
      .command_valid(command_valid && command_room), .command_ready(split_ready),
      .command_address, .command_beats,
      .burst_valid(item_valid), .burst_ready(item_ready), .burst_address(item_address),
      .burst_beats(item_beats), .burst_last(item_last), .burst_unaligned(item_unaligned)
  );

  // Items to the address channel; a tag per item waits for the item's end
  logic request_free, tag_free, room, request, taken;
  logic tag_valid, tag_done, tag_skip, tag_flag;  // flag: last burst of its command; of a skip: unaligned

  assign item_length = 8'(item_beats - 9'd1);
  assign item_skip   = item_beats == '0;
  assign item_ready  = tag_free && (item_skip || (request_free && room));
  assign taken       = item_valid && item_ready;
  assign request     = taken && !item_skip;

  hlsc_fifo #(.WIDTH(ADDR_WIDTH + 8), .DEPTH(2)) requests (
      .clk, .rst,
      .din({item_address, item_length}), .write(request), .full_n(request_free),
      .dout({araddr, arlen}), .read(arvalid && arready), .empty_n(arvalid)
  );
  hlsc_fifo #(.WIDTH(2), .DEPTH(OUTSTANDING), .BLOCK_ABOVE(OUTSTANDING)) tags (
      .clk, .rst,
      .din({item_skip, item_skip ? item_unaligned : item_last}), .write(taken), .full_n(tag_free),
      .dout({tag_skip, tag_flag}), .read(tag_done), .empty_n(tag_valid)
  );
  assign arid     = '0;
  assign arsize   = 3'(S);
  assign arburst  = 2'b01;  // INCR
  assign arlock   = '0;
  assign arcache  = 4'b0011;  // modifiable, bufferable
  assign arprot   = '0;
  assign arqos    = '0;
  assign arregion = '0;

  // The read channel to the buffer. The buffer and the statuses have room for whatever comes.
  logic beat, buffer_free, status_free, command_done;
  logic [1:0] worst, worst_now;  // response of the command under way

  assign rready       = tag_valid && !tag_skip;
  assign beat         = rvalid && rready;
  assign tag_done     = tag_valid && (tag_skip || (beat && rlast));
  assign command_done = tag_done && (tag_skip || tag_flag);
  assign worst_now    = (rresp[1] && rresp > worst) ? rresp : worst;

  hlsc_fifo #(.WIDTH(DATA_WIDTH + 1), .DEPTH(BUFFER)) buffer (
      .clk, .rst,
      .din({rlast && tag_flag, rdata}), .write(beat), .full_n(buffer_free),
      .dout({data_last, data}), .read(data_valid && data_ready), .empty_n(data_valid)
  );
  hlsc_fifo #(.WIDTH(2), .DEPTH(OUTSTANDING), .BLOCK_ABOVE(OUTSTANDING)) statuses (
      .clk, .rst,
      .din(tag_skip ? {1'b0, tag_flag} : worst_now), .write(command_done), .full_n(status_free),
      .dout(status), .read(status_valid && status_ready), .empty_n(status_valid)
  );

  // Room is reserved when a burst is requested and given back when a beat leaves
  logic [F-1:0] free, free_next;  // buffer places not reserved, in beats
  logic [N-1:0] commands_next;

  assign free_next = free + F'(data_valid && data_ready) - (request ? F'(item_beats) : '0);
  assign commands_next = commands + N'(command_valid && command_ready) - N'(status_valid && status_ready);

  always_ff @(posedge clk) begin
    if (rst) begin
      free         <= F'(BUFFER);
      room         <= 1'b0;
      commands     <= '0;
      command_room <= 1'b0;
      worst        <= '0;
    end else begin
      free         <= free_next;
      room         <= free_next >= F'(BURST);
      commands     <= commands_next;
      command_room <= commands_next != N'(OUTSTANDING);
      if (command_done) worst <= '0;
      else if (beat) worst <= worst_now;
    end
  end

  wire _unused = &{1'b0, buffer_free, status_free};  // room is reserved beforehand
endmodule

`default_nettype wire
